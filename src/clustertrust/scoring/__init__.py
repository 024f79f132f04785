"""An ensemble and the data → scores: settings, the model, standard errors, and as many runs as the
scores need.
"""
