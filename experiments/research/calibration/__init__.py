"""Do guarantees and calibrated probabilities hold?"""
