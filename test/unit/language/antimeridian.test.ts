import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { splitAtAntimeridian } from '../../../src/query/antimeridian.js'

const ring = (...positions: readonly (readonly [number, number])[]) =>
  positions.map(p => p.join(' ')).join(',')

describe('a polygon', () => {
  test.each([
    ['that does not cross', ring([-106, 39], [-104, 39], [-104, 40], [-106, 39])],
    ['as wide as the map', ring([-180, -90], [180, -90], [180, 90], [-180, 90], [-180, -90])],
    ['as wide as the map, with a step', ring([-180, 0], [0, 0], [180, 0], [180, 50], [-180, 50], [-180, 0])],
    ['half as wide as the earth', ring([-90, 0], [90, 0], [90, 5], [-90, 5], [-90, 0])],
    ['that ends at the antimeridian', ring([170, 0], [180, 0], [180, 5], [170, 5], [170, 0])],
  ])('%s stays as it is', (_, polygon) => expect(splitAtAntimeridian(polygon)).toEqual([polygon]))

  test('across the antimeridian takes the short side, and has the same digits', () => {
    const box = '170.10 -5,-170.1234567 -5,-170.1234567 5,170.10 5,170.10 -5'
    expect(splitAtAntimeridian(box)).toEqual([
      '-189.9 -5,-170.1234567 -5,-170.1234567 5,-189.9 5,-189.9 -5',
      '170.10 -5,189.8765433 -5,189.8765433 5,170.10 5,170.10 -5',
    ])
  })

  test('includes its holes, whichever side they begin on', () => {
    const outer = ring([170, -5], [-170, -5], [-170, 5], [170, 5], [170, -5])
    const hole = ring([-178, 0], [-176, 0], [-176, 1], [-178, 0])
    expect(splitAtAntimeridian(`${outer};${hole}`)?.map(part => part.split(';')[1])).toEqual([
      hole,
      ring([182, 0], [184, 0], [184, 1], [182, 0]),
    ])
  })

  test('with edges along the antimeridian, written with both signs', () => {
    expect(
      splitAtAntimeridian(
        ring([175, 0], [180, 0], [-180, 0], [-175, 0], [-175, 5], [-180, 5], [180, 5], [175, 5], [175, 0]),
      )?.[1],
    ).toBe(ring([175, 0], [180, 0], [180, 0], [185, 0], [185, 5], [180, 5], [180, 5], [175, 5], [175, 0]))
  })

  test('around a pole is refused', () => {
    expect(splitAtAntimeridian(ring([0, 80], [120, 80], [-120, 80], [0, 80]))).toBeUndefined()
    expect(splitAtAntimeridian(ring([0, 80], [-120, 80], [120, 80], [0, 80]))).toBeUndefined()
  })

  test('holds the same points wherever the antimeridian is', () => {
    const longitude = fc.integer({ min: -60, max: 60 })
    const latitude = fc.integer({ min: -60, max: 60 })
    const corners = fc.array(fc.tuple(longitude, latitude), { minLength: 3, maxLength: 6 })
    const points = fc.array(fc.tuple(longitude, latitude), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(corners, points, fc.integer({ min: 0, max: 359 }), (polygon, asked, turn) => {
        const closed = [...polygon, polygon[0] ?? [0, 0]]
        const rotated = closed.map(([x, y]) => [normalize(x + turn), y] as const)
        const parts = splitAtAntimeridian(ring(...rotated)) ?? []
        for (const [x, y] of asked)
          expect(parts.some(part => isInside(normalize(x + turn) + 0.25, y + 0.25, part))).toBe(
            isInside(x + 0.25, y + 0.25, ring(...closed)),
          )
      }),
      { numRuns: 500 },
    )
  })
})

const normalize = (longitude: number) => ((((longitude + 180) % 360) + 360) % 360) - 180

/** Counts the edges west of a point that is on no edge. */
function isInside(x: number, y: number, polygon: string): boolean {
  const vertices = polygon.split(',').map(p => p.split(' ').map(Number))
  return vertices.slice(1).reduce((inside, [x2 = 0, y2 = 0], i) => {
    const [x1 = 0, y1 = 0] = vertices[i] ?? []
    return y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1 ? !inside : inside
  }, false)
}
