"""Two reports of one thing: what is newly broken, mended, otherwise named or no longer tried in the new one."""
