// Answers as the file it is asked for says, in place of the isolate of a bench file.
import { parentPort, workerData } from 'node:worker_threads'

const { file } = workerData.type === 'describe' ? workerData : workerData.task
switch (file) {
  case 'answers':
    console.log('what a bench prints goes nowhere')
    parentPort.postMessage(workerData.type === 'describe' ? { type: 'described', matrices: [{ name: 'm' }] } : { type: 'checked' })
    break
  case 'refuses':
    parentPort.postMessage({ type: 'refused', message: 'no matrix' })
    break
  case 'throws':
    throw new TypeError('thrown')
  case 'exits':
    process.exit(3)
    break
  case 'hangs':
    for (;;) {
      // Until it is ended.
    }
}
