import { expect } from 'vitest'
import type { TestApp } from './app.js'
import { bodyOf } from './assertions.js'

/** Required fields of a create, with keys of fixture.json. */
export const DRAFT = {
  ListAgentKey: 'M1',
  ListOfficeKey: 'M4',
  PropertyType: 'Residential',
  StreetNumber: '1',
  StreetName: 'Test Rd',
  City: 'Testville',
}

/** Creates drafts in one city, one after the other, and returns their keys. */
export async function createDrafts(
  app: TestApp,
  city: string,
  drafts: readonly Readonly<Record<string, unknown>>[],
): Promise<readonly string[]> {
  const keys: string[] = []
  for (const fields of drafts) {
    const answer = await app.send('/odata/Property', {
      method: 'POST',
      body: { ...DRAFT, City: city, ...fields },
    })
    expect(answer.status, answer.text).toBe(201)
    keys.push(String(bodyOf(answer)['ListingKey']))
  }
  return keys
}
