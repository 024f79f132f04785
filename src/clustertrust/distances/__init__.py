"""Points and cells → mean dissimilarity of each point to each cluster of each run, in blocks of
points.
"""
