// Answers as the file it is asked for says, in place of the process that measures.
process.on('message', ({ task, timeoutMs }) => {
  switch (task.file) {
    case 'answers':
      process.send({ type: 'checked', pid: process.pid, flags: process.execArgv, timeoutMs })
      break
    case 'exits':
      process.exit(3)
      break
    case 'dies':
      process.kill(process.pid, 'SIGKILL')
  }
})
