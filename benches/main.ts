import { main } from 'libp2p-behaviours/bench'

process.exitCode = await main(process.argv.slice(2))
