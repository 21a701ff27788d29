"""Where two implementations differ, and which of them is right by the laws."""
