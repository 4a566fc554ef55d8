/**
 * What the API answers, as far as the page reads it.
 *
 * @typedef {"running" | "suspended" | "waiting" | "completed" | "failed" | "unknown"} RunStatus
 *
 * @typedef {object} Run
 * @property {string} id
 * @property {string} workflowFile
 * @property {string | null} workflowSlug
 * @property {string} workflowName
 * @property {number | null} specVersion
 * @property {string | null} specHash
 * @property {Record<string, string>} subjects
 * @property {string | null} sourceEventId
 * @property {string | null} routeMatch
 * @property {string | null} eventType
 * @property {string | null} triggerId
 * @property {string} createdAt
 * @property {string} updatedAt
 * @property {"completed" | "failed" | null} finalStatus
 * @property {string | null} restateUrl
 * @property {RunStatus} status
 * @property {boolean} [gone] set by a list: its filter does not choose the run any more
 *
 * @typedef {object} RunParts
 * @property {any} event
 * @property {Snapshot | null} snapshot
 * @property {Record<string, string>} nodeStatus
 * @property {Spec | null} spec
 * @property {"live" | "archive" | null} source
 *
 * @typedef {Run & RunParts} RunDetail
 *
 * @typedef {object} Snapshot
 * @property {string} status
 * @property {TraceEntry[]} trace
 * @property {Pending | null} pending
 * @property {Waiting | null} waiting
 * @property {RunError | null} error
 *
 * @typedef {object} TraceEntry
 * @property {string} node
 * @property {string} status
 * @property {string} startedAt
 * @property {string | null} endedAt
 * @property {any} input
 * @property {any} output
 * @property {any} error
 *
 * @typedef {object} Pending
 * @property {string} id
 * @property {string} node
 * @property {string} title
 * @property {any} message
 * @property {string[]} outcomes
 * @property {string} requestedAt
 *
 * @typedef {object} Waiting
 * @property {string} id
 * @property {string} node
 * @property {string | null} until
 * @property {string} since
 *
 * @typedef {object} RunError
 * @property {string | null} [node]
 * @property {string} [reason]
 * @property {number | null} [code]
 *
 * @typedef {object} Spec
 * @property {string} name
 * @property {string} [description]
 * @property {{id: string, event: string, selector?: string, start?: string}[]} entries
 * @property {string} start
 * @property {SpecNode[]} nodes
 *
 * @typedef {{id: string, type: string, title?: string, [field: string]: any}} SpecNode
 *
 * @typedef {object} Delivery
 * @property {string} runId
 * @property {string | null} workflow
 * @property {string} workflowName
 * @property {boolean} created
 * @property {string | null} routeMatch
 * @property {string | null} triggerId
 * @property {"started" | "duplicate" | "anteriority"} reason
 *
 * @typedef {object} Reception
 * @property {string} id
 * @property {string} receivedAt
 * @property {string | null} eventId
 * @property {string | null} type
 * @property {string | null} source
 * @property {string} outcome
 * @property {Delivery[]} runs
 * @property {any} problem
 *
 * @typedef {object} MemoryItem
 * @property {string} scope
 * @property {string} [subjectKind]
 * @property {string} [subjectId]
 * @property {string} [workflow]
 * @property {string} key
 * @property {number} version
 * @property {any} value
 * @property {string} typeName
 * @property {string} writtenAt
 * @property {string | null} expiresAt
 * @property {{workflow: string, run: string, node: string} | null} writtenBy
 */

export {};
