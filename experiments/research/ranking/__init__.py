"""Does another fusion rank points better?"""
