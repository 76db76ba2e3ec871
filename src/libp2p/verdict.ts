import { ConnectionDenied, isDenial, placed } from '../behaviour/connection-denied.ts'
import { answersUnder, isLater } from '../behaviour/joint-check.ts'
import { toError } from '../core/to-error.ts'
import { Wait } from './wait.ts'
import type { Check, Denied } from '../behaviour/connection-denied.ts'
import type { GateAnswer, Question } from '../behaviour/joint-check.ts'
import type { Scheduler } from './scheduler.ts'

/** How answers to gates are waited for. */
export interface VerdictTerms {
  readonly scheduler: Scheduler
  /** Milliseconds that each answer may take. At the limit it denies. */
  readonly gateTimeoutMs: number
  /** Told what an answer rejected with; it denies. */
  onRejection (behaviour: string, question: Question, cause: unknown): void
}

/** One stage of one attempt: what is asked, and what is done when nobody denies; nothing for a mere question. */
export interface GateStep {
  readonly question: Question
  check (): Check<Error>
  commit? (): Denied<Error>
}

/** How long an attempt lives. */
export interface Lifetime {
  /** It came to nothing, or has ended. */
  readonly isOver: boolean
  /** Aborts then; made for those who ask. */
  readonly signal: AbortSignal
}

/** Gives inputs to the swarm. */
interface Asker {
  ask<Answer> (input: () => Answer): Answer | Promise<Answer>
}

/**
 * Leads an attempt through one stage, at once if nobody takes time: check, then commit.
 *
 * @param lifetime - the attempt's: once it is over nothing is committed, and the verdict is a denial that is to be ignored
 */
export function passGate (driver: Asker, step: GateStep, terms: VerdictTerms, lifetime: Lifetime): Denied<Error> | Promise<Denied<Error>> {
  const commit = (denied: Denied<Error>): Denied<Error> | Promise<Denied<Error>> => {
    if (denied === undefined && lifetime.isOver) {
      return new ConnectionDenied(toError(lifetime.signal.reason))
    }
    return denied ?? driver.ask(() => step.commit?.())
  }
  const judge = ({ check }: { check: Check<Error> }): Denied<Error> | Promise<Denied<Error>> => {
    const verdict = verdictOf(check, step.question, terms, lifetime)
    return verdict instanceof Promise ? verdict.then(commit) : commit(verdict)
  }
  // Inside an object, as a promise would wait for the check, without a deadline.
  const asked = driver.ask(() => ({ check: step.check() }))
  return asked instanceof Promise ? asked.then(judge) : judge(asked)
}

/**
 * The verdict on a check (S7.3): at once, unless a behaviour takes its time. The first denial in composition order counts;
 * no behaviour waits for the time of another one.
 *
 * @param lifetime - its end ends the waiting; the verdict is a denial then, which nobody needs any more
 */
export function verdictOf (check: Check<Error>, question: Question, terms: VerdictTerms, lifetime?: Lifetime): Denied<Error> | Promise<Denied<Error>> {
  return isLater(check) ? awaitVerdict(answersUnder('', check), question, terms, lifetime?.signal) : check
}

async function awaitVerdict (
  answers: readonly GateAnswer[], question: Question, terms: VerdictTerms, signal: AbortSignal | undefined
): Promise<Denied<Error>> {
  const waits = answers.map((answer) => waitFor(answer, question, terms, signal))
  try {
    for (const [at, wait] of waits.entries()) {
      const denied = await settled(wait)
      if (denied !== undefined) {
        return placed(denied, { ...question, behaviour: answers[at]?.behaviour ?? '' })
      }
    }
    return undefined
  } finally {
    for (const wait of waits) {
      wait.resolve(undefined)
    }
  }
}

function waitFor ({ behaviour, check }: GateAnswer, question: Question, terms: VerdictTerms, signal: AbortSignal | undefined): Wait<Denied<Error>> {
  const { scheduler, gateTimeoutMs } = terms
  const wait = new Wait<Denied<Error>>({ scheduler, action: `Cannot wait for the gate of "${behaviour}"` }, { signal, timeoutMs: gateTimeoutMs })
  // One that is not waited for yet must not be an unhandled rejection.
  wait.promise.catch(() => undefined)
  Promise.resolve(check).then(
    (answer: unknown) => { wait.resolve(parseVerdict(answer)) },
    (cause: unknown) => {
      if (wait.resolve(new ConnectionDenied(toError(cause)))) {
        terms.onRejection(behaviour, question, cause)
      }
    }
  )
  return wait
}

async function settled (wait: Wait<Denied<Error>>): Promise<Denied<Error>> {
  try {
    return await wait.promise
  } catch (late) {
    return new ConnectionDenied(toError(late))
  }
}

/** What is neither a denial nor nothing is no permission. */
function parseVerdict (answer: unknown): Denied<Error> {
  if (answer == null || isDenial(answer)) {
    return answer ?? undefined
  }
  return new ConnectionDenied(new TypeError(`A check must resolve to a ConnectionDenied or undefined, not to ${typeof answer}`))
}
