// Answers as the file it is asked for says, in place of the isolate of a bench file.
import { setTimeout } from 'node:timers'
import { parentPort, threadId, workerData } from 'node:worker_threads'

let checked = 0

const ANSWERS = {
  describe: () => ({ type: 'described', matrices: [{ name: 'm' }] }),
  measure: () => ({ type: 'checked' }),
  check: () => ({ type: 'checked', thread: threadId, checked })
}

if (workerData.type === 'check') {
  parentPort.on('message', (task) => {
    checked++
    act(task.cell)
  })
} else {
  act(workerData.type === 'describe' ? workerData.file : workerData.task.file)
}

function act (what) {
  switch (what) {
    case 'answers':
      console.log('what a bench prints goes nowhere')
      parentPort.postMessage(ANSWERS[workerData.type]())
      break
    case 'refuses':
      parentPort.postMessage({ type: 'refused', message: 'no matrix' })
      break
    case 'throws':
      throw new TypeError('thrown')
    case 'ends-later':
      parentPort.postMessage(ANSWERS.check())
      setTimeout(() => { throw new Error('left behind') })
      break
    case 'exits-second':
      if (checked > 1) {
        process.exit(3)
      }
      parentPort.postMessage(ANSWERS.check())
      break
    case 'exits':
      process.exit(3)
      break
    case 'hangs':
      for (;;) {
        // Until it is ended.
      }
  }
}
