/**
 * The only script of the page: headers that sort their table. It holds no data, so that nothing measured can ever become
 * code, and its hash is the only one that the page allows.
 */
export const SORT_SCRIPT = `'use strict'
for (const button of document.querySelectorAll('.cells th button')) {
  button.disabled = false
  button.addEventListener('click', () => {
    const header = button.parentElement
    const row = header.parentElement
    const body = row.closest('table').tBodies[0]
    const sign = header.getAttribute('aria-sort') === 'ascending' ? -1 : 1
    const keyed = [...body.rows].map(line => ({ line, key: line.cells[header.cellIndex]?.dataset.key }))
    keyed.sort(({ key: a }, { key: b }) => {
      if (a === undefined || b === undefined) {
        return (a === undefined) - (b === undefined)
      }
      return sign * (a - b || a.localeCompare(b, 'en', { numeric: true }))
    })
    for (const other of row.cells) {
      other.setAttribute('aria-sort', 'none')
    }
    header.setAttribute('aria-sort', sign === 1 ? 'ascending' : 'descending')
    body.append(...keyed.map(({ line }) => line))
  })
}
`
