"""Results for other programs: JUnit's XML, SARIF, Markdown for a comment, and annotations on GitHub."""
