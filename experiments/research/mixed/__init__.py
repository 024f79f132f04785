"""Tables of numbers and categories: which clusterer?"""
