import { describe, expect, it } from 'vitest'
import { Linked, LinkedList } from '../../src/core/linked-list.ts'

class Member extends Linked<Member> {
  readonly name: string

  constructor (name: string) {
    super()
    this.name = name
  }
}

function listOf (...names: string[]): { list: LinkedList<Member>, members: Member[] } {
  const list = new LinkedList<Member>()
  const members = names.map(name => new Member(name))
  for (const member of members) {
    list.push(member)
  }
  return { list, members }
}

const namesOf = (list: LinkedList<Member>): string => Array.from(list, ({ name }) => name).join('')

describe('LinkedList', () => {
  it.each([['a', 'bcd'], ['b', 'acd'], ['d', 'abc']])('takes %s out and keeps the order of the others', (name, left) => {
    const { list, members } = listOf('a', 'b', 'c', 'd')
    const member = members.find(candidate => candidate.name === name) as Member
    expect([list.remove(member), namesOf(list), list.size]).toEqual([true, left, 3])
    expect([list.remove(member), list.has(member)]).toEqual([false, false])
    list.push(member)
    expect(namesOf(list)).toBe(left + name)
  })

  it('leaves a member that was taken out no link, so that it holds no other back', () => {
    const { list, members } = listOf('a', 'b', 'c')
    list.remove(members[1] as Member)
    expect(members[1]).toMatchObject({ before: undefined, after: undefined, list: undefined })
    list.clear()
    expect(members.map(({ before, after, list: of }) => before ?? after ?? of)).toEqual([undefined, undefined, undefined])
    expect([list.size, namesOf(list), list.shift()]).toEqual([0, '', undefined])
  })

  it('knows its members from those of other lists, and from anything else', () => {
    const { list, members: [a] } = listOf('a')
    const other = listOf('b')
    expect([list.has(a), list.has(other.members[0]), list.has(undefined), list.has({ list })]).toEqual([true, false, false, false])
    expect([list.remove(other.members[0] as Member), namesOf(other.list)]).toEqual([false, 'b'])
  })

  it('lets what was given last be taken out, and more be added, while it is gone through', () => {
    const { list, members } = listOf('a', 'b', 'c')
    const seen: string[] = []
    for (const member of list) {
      seen.push(member.name)
      list.remove(member)
      if (member === members[0]) {
        list.push(new Member('d'))
      }
    }
    expect([seen.join(''), list.size]).toEqual(['abcd', 0])
  })
})
