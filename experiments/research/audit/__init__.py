"""What an audit of given labels finds."""
