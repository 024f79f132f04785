"""What do runs of other methods add to a score?"""
