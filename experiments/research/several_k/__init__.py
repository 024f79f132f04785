"""Does an ensemble over several k rank points better?"""
