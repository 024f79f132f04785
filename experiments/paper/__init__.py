"""The paper, reproduced: its tables and figures made anew, beside the printed ones."""
