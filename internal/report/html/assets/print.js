// On paper nothing can be unfolded: what is folded is opened for printing alone.
(() => {
  const opened = [];
  addEventListener('beforeprint', () => {
    for (const details of document.querySelectorAll('details:not([open])')) {
      details.open = true;
      opened.push(details);
    }
  });
  addEventListener('afterprint', () => {
    for (const details of opened.splice(0)) details.open = false;
  });
})();
