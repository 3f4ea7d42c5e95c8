// Tables sort by the buttons in their heads, and those with filters show the rows that
// match all of them. What the page says without a script stays true: nothing is
// built here, rows are only put in order and hidden.
(() => {
  const text = (cell) => cell.dataset.value ?? cell.textContent.trim();

  const titleOf = (table) => table.caption.firstElementChild.textContent;

  // numeric reads the number that a cell begins with; NaN is none.
  const numeric = (cell) => Number.parseFloat(text(cell).replace(/^[≈+]/, '').replace(/,/g, ''));

  // compare puts cells without a number last, whichever way a column of numbers sorts.
  function compare(a, b, asNumber, sign) {
    if (!asNumber) return sign * text(a).localeCompare(text(b), undefined, { numeric: true });
    const [x, y] = [numeric(a), numeric(b)];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
    return sign * (x - y);
  }

  function sort(table, head) {
    const column = head.cellIndex;
    const asNumber = head.classList.contains('number');
    const before = head.getAttribute('aria-sort');
    const first = asNumber ? 'descending' : 'ascending';
    const second = asNumber ? 'ascending' : 'descending';
    const order = before === first ? second : first;
    for (const other of head.parentElement.cells) other.setAttribute('aria-sort', 'none');
    head.setAttribute('aria-sort', order);
    const body = table.tBodies[0];
    const sign = order === 'ascending' ? 1 : -1;
    const rows = [...body.rows];
    rows.sort((a, b) => compare(a.cells[column], b.cells[column], asNumber, sign));
    body.append(...rows);
    raglab.say(titleOf(table) + ': sorted by ' + head.textContent.trim() + ', ' + order);
  }

  for (const table of document.querySelectorAll('table.sortable')) {
    table.tHead.addEventListener('click', (event) => {
      const button = event.target.closest('button');
      if (button) sort(table, button.closest('th'));
    });
  }

  function filter(controls) {
    const table = document.getElementById(controls.dataset.filters);
    const rows = [...table.tBodies[0].rows];
    const chosen = [...controls.querySelectorAll('select')].filter((select) => select.value !== '');
    const sought = controls.querySelector('input').value.trim().toLocaleLowerCase();
    let shown = 0;
    for (const row of rows) {
      const fits = chosen.every((select) => '=' + text(row.cells[select.dataset.column]) === select.value);
      row.hidden = !fits || (sought !== '' && !row.textContent.toLocaleLowerCase().includes(sought));
      if (!row.hidden) shown++;
    }
    const said = shown + ' of ' + rows.length;
    controls.querySelector('.shown').textContent = said;
    raglab.say(titleOf(table) + ': ' + said + ' rows shown');
  }

  for (const controls of document.querySelectorAll('[data-filters]')) {
    controls.addEventListener('input', () => filter(controls));
    controls.querySelector('.clear').addEventListener('click', () => {
      for (const control of controls.querySelectorAll('select, input')) control.value = '';
      filter(controls);
    });
  }

  // On paper nothing can be unfolded: what is folded is opened for printing alone.
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
