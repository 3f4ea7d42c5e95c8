// Tables sort by the buttons in their heads, and those with filters show the rows that
// match all of them. What the page says without a script stays true: nothing is
// built here, rows are only put in order and hidden. What is chosen is in the address.
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

  // namesOf are the columns by which an address names them: their heads' texts, with the
  // place behind one that another has before it.
  function namesOf(heads) {
    const names = [];
    for (const head of heads) {
      const name = head.textContent.trim();
      names.push(names.includes(name) ? name + '#' + (head.cellIndex + 1) : name);
    }
    return names;
  }

  // manage makes one table sort and filter. Rows that a column does not tell apart stay
  // in the order that the page was written with, so that an address says all of what is seen.
  function manage(table, controls) {
    const heads = [...table.tHead.rows[0].cells];
    const names = namesOf(heads);
    const rows = [...table.tBodies[0].rows];
    const selects = controls ? [...controls.querySelectorAll('select')] : [];
    const search = controls?.querySelector('input');
    let stored = '';

    function sort(column, order) {
      heads.forEach((head, i) => head.setAttribute('aria-sort', i === column ? order : 'none'));
      const sorted = [...rows];
      if (column >= 0) {
        const asNumber = heads[column].classList.contains('number');
        const sign = order === 'ascending' ? 1 : -1;
        sorted.sort((a, b) => compare(a.cells[column], b.cells[column], asNumber, sign));
      }
      table.tBodies[0].append(...sorted);
    }

    // filter hides what does not fit, and says how much does.
    function filter() {
      const chosen = selects.filter((select) => select.value !== '');
      const sought = search.value.trim().toLocaleLowerCase();
      let shown = 0;
      for (const row of rows) {
        const fits = chosen.every((select) => '=' + text(row.cells[select.dataset.column]) === select.value);
        row.hidden = !fits || (sought !== '' && !row.textContent.toLocaleLowerCase().includes(sought));
        if (!row.hidden) shown++;
      }
      const said = shown + ' of ' + rows.length;
      controls.querySelector('.shown').textContent = said;
      controls.classList.toggle('filtering', shown < rows.length);
      return said + ' rows shown';
    }

    // state is what was chosen, as parameters.
    function state() {
      const params = new URLSearchParams();
      const sorted = heads.findIndex((head) => head.getAttribute('aria-sort') !== 'none');
      if (sorted >= 0) {
        params.set('sort', names[sorted]);
        params.set('order', heads[sorted].getAttribute('aria-sort'));
      }
      for (const select of selects) if (select.value !== '') params.set('is.' + names[select.dataset.column], select.value.slice(1));
      if (search && search.value !== '') params.set('text', search.value);
      return params;
    }

    function store() {
      const params = state();
      stored = String(params);
      raglab.state.set(table.id, params);
    }

    // restore does what an address says, as far as the table has it.
    function restore(params, first) {
      if (String(params) !== stored) {
        stored = String(params);
        const order = params.get('order');
        sort(order === 'ascending' || order === 'descending' ? names.indexOf(params.get('sort')) : -1, order);
        for (const select of selects) {
          const value = params.get('is.' + names[select.dataset.column]);
          select.value = value === null ? '' : '=' + value;
          if (select.selectedIndex < 0) select.value = '';
        }
        if (search) {
          search.value = params.get('text') ?? '';
          filter();
        }
      }
      if (!first) return;
      for (let at = table.closest('details'); at; at = at.parentElement.closest('details')) at.open = true;
      (controls || table.parentElement).scrollIntoView();
    }

    table.tHead.addEventListener('click', (event) => {
      const head = event.target.closest('button')?.closest('th');
      if (!head) return;
      const [usual, other] = head.classList.contains('number') ? ['descending', 'ascending'] : ['ascending', 'descending'];
      const order = head.getAttribute('aria-sort') === usual ? other : usual;
      sort(head.cellIndex, order);
      raglab.say(titleOf(table) + ': sorted by ' + head.textContent.trim() + ', ' + order);
      store();
    });
    const changed = () => {
      raglab.say(titleOf(table) + ': ' + filter());
      store();
    };
    controls?.addEventListener('input', changed);
    controls?.querySelector('.clear').addEventListener('click', () => {
      for (const control of [...selects, search]) control.value = '';
      changed();
    });
    raglab.state.watch(table.id, restore);
  }

  const filters = new Map([...document.querySelectorAll('[data-filters]')].map((controls) => [controls.dataset.filters, controls]));
  for (const table of document.querySelectorAll('table.sortable')) manage(table, filters.get(table.id));
})();
