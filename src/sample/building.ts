import type { TableRow } from '../data/import/record.js'
import { LOOKUP_CHOICES, type PropertyType } from './lookup-choices.js'
import type { SeededRandom } from './random.js'

/**
 * The dimensions of a building. All are zero for bare land. Areas are in square feet, the lot is in acres.
 */
export interface Building {
  readonly bedrooms: number
  readonly fullBaths: number
  readonly halfBaths: number
  readonly livingArea: number
  readonly yearBuilt: number | null
  readonly stories: number
  readonly units: number
  readonly acres: number
  readonly garage: number
}

const UNITS_BY_SUB_TYPE: Readonly<Record<string, number>> = {
  Duplex: 2,
  Triplex: 3,
  Quadruplex: 4,
  'Multi Family': 12,
}

/** Small apartments have almost no land. Farms have much. */
function pickAcres(random: SeededRandom, type: PropertyType, subType: string): number {
  if (subType === 'Condominium' || subType === 'Apartment') return random.between(0.02, 0.08)
  if (type === 'Land') return random.next() ** 3 * 80 + 0.15
  if (type === 'Farm') return random.between(10, 320)
  return random.next() ** 4 * 5 + 0.09
}

export function pickBuilding(random: SeededRandom, type: PropertyType, subType: string): Building {
  const acres = Math.round(pickAcres(random, type, subType) * 10000) / 10000
  if (type === 'Land')
    return {
      bedrooms: 0,
      fullBaths: 0,
      halfBaths: 0,
      livingArea: 0,
      yearBuilt: null,
      stories: 0,
      units: 0,
      acres,
      garage: 0,
    }
  const units = UNITS_BY_SUB_TYPE[subType] ?? 1
  const isCommercial = type.startsWith('Commercial') || type === 'Business Opportunity'
  const bedrooms = isCommercial ? 0 : random.pickWeighted([3, 3, 4, 2, 3, 4, 5, 1, 2, 6, 7, 0]) * units
  const livingArea = isCommercial
    ? random.int(9, 240) * 100
    : Math.round(420 * units + bedrooms * random.between(280, 620) + random.int(0, 250))
  const fullBaths = Math.max(1, Math.round(bedrooms * random.between(0.4, 0.8)))
  const stories = random.pickWeighted([1, 2, 1, 2, 3])
  const yearBuilt = random.chance(0.12) ? random.int(2024, 2026) : random.int(1898, 2023)
  return {
    bedrooms,
    fullBaths,
    halfBaths: random.pickWeighted([0, 1, 0, 2]),
    livingArea,
    yearBuilt,
    stories,
    units,
    acres,
    garage: random.pickWeighted([2, 2, 1, 0, 3, 4]),
  }
}

/** Every fifth listing has only one appliance. */
const pickAppliances = (random: SeededRandom) =>
  random.chance(0.2)
    ? random.pickSubset(LOOKUP_CHOICES.Appliances, 1, 1)
    : random.pickSubset(LOOKUP_CHOICES.Appliances, 0, 5)

const pickLookupValues = (random: SeededRandom, field: keyof typeof LOOKUP_CHOICES, max = 4) =>
  random.pickSubset<string>(LOOKUP_CHOICES[field], 0, max)

/** Returns a yes/no field that follows from a list, or null. */
const maybeHasAny = (random: SeededRandom, list: readonly string[]) => random.orNull(0.15, list.length > 0)

function toLotFields(random: SeededRandom, acres: number): TableRow {
  const inAcres = acres >= 1
  const feet = Math.round(acres * 43560)
  return {
    LotSizeArea: inAcres ? acres : feet,
    LotSizeUnits: inAcres ? 'Acres' : 'Square Feet',
    LotSizeAcres: acres,
    LotSizeSquareFeet: feet,
    LotFeatures: pickLookupValues(random, 'LotFeatures', 5),
    View: pickLookupValues(random, 'View', 3),
    WaterfrontYN: random.chance(0.06),
    Utilities: pickLookupValues(random, 'Utilities', 5),
    Sewer: pickLookupValues(random, 'Sewer', 1),
    WaterSource: pickLookupValues(random, 'WaterSource', 2),
    ExteriorFeatures: pickLookupValues(random, 'ExteriorFeatures', 3),
    SpecialListingConditions: random.chance(0.85)
      ? ['Standard']
      : pickLookupValues(random, 'SpecialListingConditions', 2),
  }
}

function toSizeFields(random: SeededRandom, building: Building): TableRow {
  const { bedrooms, fullBaths, halfBaths, livingArea, yearBuilt, stories, units, garage } = building
  return {
    BedroomsTotal: bedrooms,
    BathroomsFull: fullBaths,
    BathroomsHalf: halfBaths,
    BathroomsTotalInteger: fullBaths + halfBaths,
    RoomsTotal: random.orNull(0.2, bedrooms + random.int(2, 6)),
    LivingArea: livingArea,
    LivingAreaUnits: 'Square Feet',
    BuildingAreaTotal: random.orNull(0.15, livingArea + random.int(0, 4) * 120.5),
    BuildingAreaUnits: 'Square Feet',
    YearBuilt: random.orNull(0.03, yearBuilt),
    NewConstructionYN: (yearBuilt ?? 0) >= 2025,
    Stories: stories,
    NumberOfUnitsTotal: units,
    GarageSpaces: garage,
    GarageYN: garage > 0,
    ParkingTotal: random.orNull(0.3, garage + random.int(0, 4)),
  }
}

function toInteriorFields(random: SeededRandom): TableRow {
  const fireplaces = random.pickWeighted([0, 1, 0, 1, 2])
  const pool = random.chance(0.08) ? random.pickSubset<string>(LOOKUP_CHOICES.PoolFeatures, 1, 4) : []
  return {
    Levels: pickLookupValues(random, 'Levels', 1),
    ArchitecturalStyle: pickLookupValues(random, 'ArchitecturalStyle', 2),
    ConstructionMaterials: pickLookupValues(random, 'ConstructionMaterials'),
    Roof: pickLookupValues(random, 'Roof', 2),
    FoundationDetails: pickLookupValues(random, 'FoundationDetails', 2),
    Basement: pickLookupValues(random, 'Basement', 3),
    Flooring: pickLookupValues(random, 'Flooring', 5),
    Appliances: pickAppliances(random),
    InteriorFeatures: pickLookupValues(random, 'InteriorFeatures', 5),
    ParkingFeatures: pickLookupValues(random, 'ParkingFeatures', 5),
    PatioAndPorchFeatures: pickLookupValues(random, 'PatioAndPorchFeatures', 3),
    LaundryFeatures: pickLookupValues(random, 'LaundryFeatures', 2),
    PoolFeatures: pool,
    PoolPrivateYN: maybeHasAny(random, pool),
    SpaFeatures: random.chance(0.1) ? pickLookupValues(random, 'SpaFeatures', 2) : [],
    FireplaceYN: fireplaces > 0,
    FireplacesTotal: fireplaces,
    Heating: pickLookupValues(random, 'Heating', 3),
    Cooling: pickLookupValues(random, 'Cooling', 2),
    AccessibilityFeatures: random.chance(0.15) ? pickLookupValues(random, 'AccessibilityFeatures', 3) : [],
  }
}

/** Returns the fields of the building and the lot. */
export const toBuildingFields = (random: SeededRandom, building: Building, type: PropertyType): TableRow => ({
  ...toLotFields(random, building.acres),
  ...(type === 'Land'
    ? { BedroomsTotal: 0, Appliances: [] }
    : { ...toSizeFields(random, building), ...toInteriorFields(random) }),
})
