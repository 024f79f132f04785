"""The first command on real tables from packages of the Python index: what came out of each."""
