"""How much does the default threshold keep of data without clusters, and of others?"""
