/** A path of keys, joined with dots, seen from one level further up; an empty `key` is a wrapper, which adds none. */
export function under (key: string, path: string): string {
  if (key === '') {
    return path
  }
  return path === '' ? key : `${key}.${path}`
}
