/** The events that a search has to meet. */
export interface SessionCounters extends Record<string, number> {
  calls: number;
  held: number;
  begun: number;
  reported: number;
  lateReports: number;
  notDone: number;
  unreported: number;
  forgedTokens: number;
  doubts: number;
  killed: number;
  busy: number;
  handedOver: number;
  reusedNames: number;
  segments: number;
  closed: number;
  restarts: number;
  modelAsked: number;
  modelFailed: number;
  modelStreams: number;
  modelCut: number;
  modelReplayed: number;
  joined: number;
  askedAtOnce: number;
  samples: number;
  branches: number;
  leftActs: number;
  sameActs: number;
  sameActsElsewhere: number;
  namedTwice: number;
  edited: number;
  regenerated: number;
  released: number;
  subAgents: number;
}

export function newSessionCounters(): SessionCounters {
  return {
    calls: 0,
    held: 0,
    begun: 0,
    reported: 0,
    lateReports: 0,
    notDone: 0,
    unreported: 0,
    forgedTokens: 0,
    doubts: 0,
    killed: 0,
    busy: 0,
    handedOver: 0,
    reusedNames: 0,
    segments: 0,
    closed: 0,
    restarts: 0,
    modelAsked: 0,
    modelFailed: 0,
    modelStreams: 0,
    modelCut: 0,
    modelReplayed: 0,
    joined: 0,
    askedAtOnce: 0,
    samples: 0,
    branches: 0,
    leftActs: 0,
    sameActs: 0,
    sameActsElsewhere: 0,
    namedTwice: 0,
    edited: 0,
    regenerated: 0,
    released: 0,
    subAgents: 0,
  };
}
