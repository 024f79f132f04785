"""What should differ between runs of Leiden, and how are single cells scored best?"""
