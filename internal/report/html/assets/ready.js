// From here on the page answers; what is read later is behind it.
performance.mark('ready');
