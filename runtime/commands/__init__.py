"""One file per command of `pi-fabric`; each exports `command`. They parse and print, and decide nothing."""
