"""The paper, reproduced: its tables and figures, compared with the printed ones."""
