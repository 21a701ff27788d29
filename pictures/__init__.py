"""What a person looks at: pictures as plain records, and how each looks in a terminal, in HTML and in a notebook."""
