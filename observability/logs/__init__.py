"""Records: levels that change at run time, formats, outputs, secrets hidden."""
