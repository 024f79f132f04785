"""How often does `null_reference` raise a false alarm?"""
