import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const { name, exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  name: string
  exports: Record<string, string | { types: string, import: string }>
}

interface Names { values: string[], types: string[] }

/** What each entry exports: whoever changes a line here changes the API, and says so in the CHANGELOG. */
const published: Record<string, Names> = {
  '.': {
    values: [
      'AbortError', 'ConnectionClosedError', 'ConnectionDenied', 'DialFailureError', 'DuplicateProtocolError',
      'InvalidStateError', 'NegotiationError', 'NotConnectedError', 'Outbox', 'OverflowError', 'PENDING',
      'ProtocolList', 'RemoteProtocolError', 'StreamResetError', 'StreamUpgradeError', 'TimeoutError', 'UnexpectedEOFError',
      'asyncUpgrade',
      'composeBehaviours', 'composeHandlers', 'mapBehaviour', 'mapHandler', 'negotiated', 'oneShotHandler', 'protocolBehaviour',
      'protocolHandler', 'swarm', 'toggle', 'withSwarm'
    ],
    types: [
      'AddressFailure', 'AnyBehaviour', 'AnyHandler', 'AwaitCheck', 'BehaviourEvent', 'BehaviourFault', 'BehaviourMap',
      'BehaviourOf', 'BehaviourSource', 'Behaviours', 'CallOptions', 'CancelOutboundRequest', 'ChangeCallback', 'ChangeListener', 'ChangingParts', 'Check',
      'CloseConnection', 'CloseReason', 'Commands', 'ComposedBehaviour', 'ComposedHandler', 'ConnectionClosed',
      'ConnectionEstablished', 'ConnectionEvent', 'ConnectionHandler', 'ConnectionId', 'ConnectionInit', 'ConnectionMode',
      'ConnectionOrigin', 'Denial', 'DenialPlace', 'Denied', 'DeniedAt', 'Dial', 'DialCondition', 'DialFailure',
      'DialFailureKind', 'DialOptions', 'DialTarget', 'DialUpgradeError', 'Direction', 'EmitEvent', 'EstablishedConnection', 'EventOf',
      'EventsIterator', 'EventsOptions', 'ExternalAddressChange', 'FailedOutcome', 'FromSwarm', 'FullyNegotiatedInbound',
      'FullyNegotiatedOutbound', 'GateStage', 'HandlerContext', 'HandlerError', 'HandlerMap', 'HandlerOutput',
      'KeyedEvent', 'LazyOptions', 'ListenAddressChange', 'ListenFailure', 'ListenUpgradeError', 'ListenerChange', 'ListenerError', 'MessageDelivered',
      'MessageOf', 'MessageUndelivered', 'NegotiatedStream', 'NetworkBehaviour', 'NotifyHandler', 'OneShotEvent',
      'OneShotFailed', 'OneShotHandlerInit', 'OneShotInboundFailed', 'OneShotReceived', 'OneShotSent', 'OpenOptions',
      'OpenStream', 'Opener', 'OutboundStreamRequest', 'Overflow', 'PeerExternalAddress', 'PeerProtocolsChange', 'PendingConnection',
      'Poll', 'PollContext', 'ProtocolBehaviourInit', 'ProtocolFilter', 'ProtocolHandlerInit', 'ProtocolInit',
      'ProtocolListing', 'ProtocolSupport', 'ProtocolsChange', 'ProtocolsChanged', 'ProtocolsView', 'ShortBehaviour',
      'SignalOptions', 'StreamCallback', 'StreamContext', 'StreamFailure', 'StreamPhase', 'StreamUpgrade',
      'StreamUpgradeErrorKind', 'Subscription', 'Swarm', 'SwarmComponents', 'SwarmConnection', 'SwarmEvents',
      'SwarmInit', 'SwarmLimits', 'SwarmProtocols', 'SwarmRestarted', 'SwarmStopped', 'ToSwarm', 'Toggle', 'ToggleOptions', 'UndeliveredReason',
      'WithSwarmOptions', 'WrappedBehaviour'
    ]
  },
  './connection': {
    values: ['Connection', 'PENDING'],
    types: [
      'AddressChanged', 'AnyHandler', 'CancelOutboundRequest', 'CloseReason', 'ClosedOutput', 'ConnectionComponents',
      'ConnectionConfig', 'ConnectionEvent', 'ConnectionHandler', 'ConnectionId', 'ConnectionInit', 'ConnectionOutput',
      'ConnectionLoad', 'ConnectionMeter', 'ConnectionReport', 'ConnectionStatus', 'DialUpgradeError', 'Direction', 'FullyNegotiatedInbound',
      'FullyNegotiatedOutbound', 'HandlerErrorReport', 'HandlerEventOutput', 'HandlerNotifiedOutput', 'HandlerOutput',
      'HandlerTask',
      'HostProtocols', 'HostStreamFailed', 'HostStreamOpened', 'HostStreamOutput', 'InboundFailureReport', 'HostStreamRequest',
      'ListenUpgradeError', 'MuxerPort', 'NegotiationRole', 'NotifyBehaviour', 'OpeningFailure', 'OutboundStreamRequest', 'Poll', 'PollContext',
      'ProtocolsChanged', 'ProtocolsReport', 'ReadonlyProtocols', 'RejectReason', 'ReportInterest', 'ReportRemoteProtocols',
      'StreamOpening', 'StreamPort', 'StreamUpgrade'
    ]
  },
  './negotiation': {
    values: [
      'DEFAULT_LIMITS', 'DialerNegotiation', 'ListenerNegotiation', 'MultistreamSelectError', 'PENDING', 'decodeList',
      'handle', 'select'
    ],
    types: [
      'Agreed', 'ByteDuplex', 'DialerOptions', 'Interrupted', 'MultistreamSelectInit', 'NegotiatedDuplex',
      'NegotiationLimits', 'NegotiationOutcome', 'NotAgreed', 'Poll', 'ProtocolEntry', 'ProtocolIndex', 'Violated'
    ]
  },
  './protocols': {
    values: [
      'LocalProtocols', 'MAX_PROTOCOL_BYTES', 'ProtocolList', 'ProtocolsNotice', 'RemoteProtocols',
      'SupportedProtocols', 'streamProtocol'
    ],
    types: [
      'ListedProtocol', 'ListingSnapshot', 'LocalProtocolsInit', 'ProtocolListing', 'ProtocolWarning',
      'ProtocolsChange', 'ProtocolsView', 'RemoteProtocolsInit', 'RemoteReportChange', 'StreamProtocol',
      'TruncatedReport'
    ]
  },
  './subscriptions': {
    values: ['CompositeSubscription', 'EventHub', 'FilteredHub', 'SubscriptionBase', 'subscription'],
    types: ['Child', 'CompositeSubscriptionInit', 'EventCallback', 'Filter', 'Key', 'SetThresholds', 'Subscription', 'SubscriptionHolder', 'Topic', 'Unsubscribable']
  },
  './concurrency': {
    values: ['CoalescingExecutor', 'andAllComplete', 'andAllSucceed', 'gather', 'inlineExecutor', 'whenAllComplete', 'whenAllSucceed'],
    types: ['CoalescingExecutorComponents', 'CoalescingExecutorInit', 'Executor', 'Gathered', 'Outcomes', 'Task', 'WhenAllOptions']
  },
  './identify': {
    values: ['identify'],
    types: ['CallOptions', 'Identify', 'IdentifyAction', 'IdentifyEvent', 'IdentifyInfo', 'IdentifyInit', 'SignalOptions']
  },
  './ping': {
    values: ['ping'],
    types: ['CallOptions', 'Ping', 'PingEvent', 'PingInit', 'SignalOptions']
  },
  './request-response': {
    values: ['requestResponse'],
    types: [
      'CallOptions', 'Codec', 'HandlerContext', 'InboundFailure', 'LazyOptions', 'ReceivedRequest', 'RequestEvent', 'RequestOptions', 'RequestResponse',
      'RequestResponseInit', 'Serve', 'SignalOptions', 'StreamContext'
    ]
  },
  './streams': {
    values: ['streams'],
    types: [
      'AcceptOptions', 'AcceptedStream', 'AcceptedStreams', 'CallOptions', 'HandlerContext', 'LazyOptions', 'OpenStreamOptions', 'Serving',
      'SignalOptions', 'StreamCallback', 'StreamContext', 'StreamRejected', 'Streams', 'StreamsInit'
    ]
  },
  './connection-limits': {
    values: ['LimitExceededError', 'connectionLimits'],
    types: ['ConnectionCounts', 'ConnectionLimitChanges', 'ConnectionLimitKind', 'ConnectionLimitValues', 'ConnectionLimitsBehaviour', 'ConnectionLimitsInit']
  },
  './allow-block-list': {
    values: ['PeerBlockedError', 'PeerNotAllowedError', 'allowList', 'blockList'],
    types: ['AllowList', 'BlockList', 'PeerListInit']
  },
  './memory-limits': {
    values: ['MemoryLimitError', 'memoryLimits'],
    types: ['MemoryLimits', 'MemoryLimitsInit', 'MemoryUsage']
  },
  './testing': {
    values: [
      'ConnectionPair', 'NegotiationPair', 'PairEnd', 'RecordingHandler', 'ScriptedConnection', 'ScriptedMuxer',
      'ScriptedStream', 'VirtualClock', 'VirtualStream', 'chunksOf', 'connectionPair', 'everySplit', 'handlerComplianceSuite',
      'randomSplits', 'recordingHandler', 'scriptedMuxer', 'seededRandom', 'shrinkScript', 'simulate'
    ],
    types: [
      'BrokenScript', 'ComplianceSubject', 'ConnectionPairInit', 'NegotiationPairInit', 'RecordedEvent', 'ScriptedConnectionOptions',
      'SimulateOptions', 'Simulation', 'SuiteRunner'
    ]
  },
  './bench': {
    values: ['main', 'matrix'],
    types: [
      'Axes', 'AxisValue', 'Band', 'BytesClaim', 'Cell', 'CellPart', 'Change', 'Claim', 'Claimed', 'Comparison', 'Controls',
      'Environment', 'Failed', 'FailedStage', 'Matrix', 'MatrixInit', 'Measured', 'NumberAxis', 'Params', 'RatioClaim', 'Report',
      'ReportOptions', 'Result', 'Round', 'SlopeClaim', 'Verdict', 'Work'
    ]
  }
}

const declarations = Object.fromEntries(Object.entries(exports).flatMap(([entry, target]) =>
  typeof target === 'string' ? [] : [[entry, fileURLToPath(new URL(target.types, root))]])) as Record<string, string>

const program = ts.createProgram(Object.values(declarations), {
  module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, target: ts.ScriptTarget.ES2022, types: [],
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts']
})

/** The names of types that the declarations of an entry export. */
function typesOf (entry: string): string[] {
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(declarations[entry]!)!
  return checker.getExportsOfModule(checker.getSymbolAtLocation(source)!)
    .filter((symbol) => isTypeOnly(symbol) || (targetOf(symbol).flags & ts.SymbolFlags.Value) === 0)
    .map((symbol) => symbol.name)

  function targetOf (symbol: ts.Symbol): ts.Symbol {
    return (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol)
  }
}

/** A class may be exported as a type alone. */
function isTypeOnly (symbol: ts.Symbol): boolean {
  return symbol.declarations?.some((declaration) => ts.isExportSpecifier(declaration) && declaration.parent.parent.isTypeOnly) ?? false
}

describe('the exports map', () => {
  it('has these entries', () => {
    expect(Object.keys(declarations)).toEqual(Object.keys(published))
  })

  describe.each(Object.entries(published))('%s', (entry, { values, types }) => {
    it('exports these values', async () => {
      const module = await import(`${name}${entry.slice(1)}`) as object
      expect(Object.keys(module).sort()).toEqual([...values].sort())
    })

    it('exports these types', () => {
      expect(typesOf(entry).sort()).toEqual([...types].sort())
    })
  })

  it('has declarations that need neither a later lib than ES2022 nor the types of Node', () => {
    const own = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(fileURLToPath(new URL('dist/', root))))
    const problems = own.flatMap((file) => program.getSemanticDiagnostics(file))
    expect(own.length).toBeGreaterThan(Object.keys(declarations).length)
    expect(problems.map(({ file, messageText }) => `${file?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)).toEqual([])
    // Else a dependency may have brought them along.
    for (const { fileName, text } of own.filter((file) => /\b(Async)?Disposable\b|Symbol\.(asyncD|d)ispose/.test(file.text))) {
      expect(text, fileName).toContain('/// <reference lib="esnext.disposable" preserve="true" />')
    }
  })

  it('leads to the package itself for tools', async () => {
    const self = await import(`${name}/package.json`, { with: { type: 'json' } }) as { default: { name: string } }
    expect(self.default.name).toBe(name)
  })
})
