"""Reports as one file of HTML that needs neither a network nor a script to be read.

pages     the page of each command
blocks    what a page is made of, as plain records
rendering a page as HTML, by the templates
"""
