"""Scores that learn from a person's answers: do they rank better, and keep more points?"""
