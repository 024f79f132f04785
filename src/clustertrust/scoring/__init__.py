"""An ensemble and the data → scores: settings, the model, standard errors, the number of runs."""
