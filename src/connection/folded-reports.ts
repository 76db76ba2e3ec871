import type { RemoteReportChange } from '../protocols/remote-protocols.ts'

/** What one source says of the peer's protocols. */
export interface RemoteReport {
  readonly change: RemoteReportChange
  readonly protocols: readonly string[]
}

/**
 * The fewest reports that lead to the same set: a full one, or what is taken away and then what is added.
 *
 * @param reports - in order
 * @param isHeld - whether the source may hold a name before them: others need not be taken away
 */
export function foldReports (reports: readonly RemoteReport[], isHeld: (name: string) => boolean): RemoteReport[] {
  const present = new Set<string>()
  const absent = new Set<string>()
  let isFull = false
  for (const { change, protocols } of reports) {
    if (change === 'replaced') {
      isFull = true
      present.clear()
    }
    for (const name of protocols) {
      if (change !== 'removed') {
        absent.delete(name)
        present.add(name)
      } else {
        present.delete(name)
        if (isHeld(name)) {
          absent.add(name)
        }
      }
    }
  }
  if (isFull) {
    return [{ change: 'replaced', protocols: [...present] }]
  }
  const folded: RemoteReport[] = [{ change: 'removed', protocols: [...absent] }, { change: 'added', protocols: [...present] }]
  return folded.filter(({ protocols }) => protocols.length > 0)
}
