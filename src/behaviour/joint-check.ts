/**
 * The checks of several behaviours as one (S7.3): all are asked, and the first denial in composition order counts, whoever
 * is faster.
 */

import { toError } from '../core/to-error.ts'
import { dropTasks } from '../handler/tasks.ts'
import { ConnectionDenied, isDenial, placed } from './connection-denied.ts'
import { under } from './key-path.ts'
import type { Check, DenialPlace, Denied } from './connection-denied.ts'

/** What one behaviour answered. */
export interface GateAnswer {
  /** Keys of the behaviour, joined with dots. */
  readonly behaviour: string
  readonly check: Check<Error>
}

/** What all answers to one question have in common. */
export type Question = Omit<DenialPlace, 'behaviour'>

/**
 * Answers of which at least one is still to come, in composition order. The adapter waits for each of them by itself, with
 * a deadline; to everybody else this is a thenable of the first denial.
 */
export class JointCheck implements PromiseLike<Denied<Error>> {
  readonly answers: readonly GateAnswer[]
  readonly #question: Question

  constructor (answers: readonly GateAnswer[], question: Question) {
    this.answers = answers
    this.#question = question
  }

  then<Fulfilled = Denied<Error>, Rejected = never> (
    onFulfilled?: ((denied: Denied<Error>) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null
  ): PromiseLike<Fulfilled | Rejected> {
    dropLater(this.answers)
    // Answers that are still to come come before every denial: this is a thenable.
    const first = firstDenial(this.answers, this.#question) as PromiseLike<Denied<Error>>
    return first.then(onFulfilled, onRejected)
  }
}

/**
 * The verdict on `answers`: at once if nobody has to be waited for, which is so as well when a denial comes before every
 * answer that is still to come.
 */
export function joinChecks (answers: readonly GateAnswer[], question: Question): Check<Error> {
  const decisive = answers.find(({ check }) => check !== undefined)
  if (decisive !== undefined && isLater(decisive.check)) {
    return new JointCheck(answers, question)
  }
  dropLater(answers)
  return firstDenial(answers, question)
}

/** The answers behind `check`, each under `key`. */
export function answersUnder (key: string, check: Check<Error>): readonly GateAnswer[] {
  return check instanceof JointCheck
    ? check.answers.map((answer) => ({ behaviour: under(key, answer.behaviour), check: answer.check }))
    : [{ behaviour: isDenial(check) ? under(key, check.behaviour) : key, check }]
}

/** Whether `check` is still to come. */
export function isLater (check: Check<Error>): check is PromiseLike<Denied<Error>> {
  return check !== undefined && !isDenial(check)
}

function firstDenial (answers: readonly GateAnswer[], question: Question, from = 0): Check<Error> {
  for (const [at, { behaviour, check }] of answers.slice(from).entries()) {
    if (isLater(check)) {
      return check.then(
        (denied) => denied === undefined ? firstDenial(answers, question, from + at + 1) : placed(denied, { ...question, behaviour }),
        (reason: unknown) => new ConnectionDenied(toError(reason), { ...question, behaviour })
      )
    }
    if (check !== undefined) {
      return placed(check, { ...question, behaviour })
    }
  }
  return undefined
}

/** Nobody waits for some of these, or not yet: that they reject must not be an unhandled rejection. */
function dropLater (answers: readonly GateAnswer[]): void {
  dropTasks(answers.flatMap(({ check }) => isLater(check) ? [check] : []))
}
