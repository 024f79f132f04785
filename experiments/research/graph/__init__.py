"""Silhouettes along a graph of neighbours, beside other geometries."""
