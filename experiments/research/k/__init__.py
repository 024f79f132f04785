"""How often is `choose_k` right about the number of clusters?"""
