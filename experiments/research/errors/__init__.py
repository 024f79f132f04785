"""Do standard errors cover what many runs give?"""
