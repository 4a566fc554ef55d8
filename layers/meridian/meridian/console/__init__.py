"""The console's files and the headers they are served with. The page itself is in `functions/console/static`."""
