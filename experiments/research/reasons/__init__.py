"""How often is the reason that is given for a point right?"""
