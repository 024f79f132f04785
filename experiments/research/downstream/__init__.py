"""Is a classifier that is trained on the sure points better?"""
